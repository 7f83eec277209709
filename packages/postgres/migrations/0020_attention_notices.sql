-- The daily notices of what needs attention: one process sends each.
CREATE TABLE attention_notices (
  day date NOT NULL,
  target text NOT NULL,
  tries integer NOT NULL CHECK (tries > 0),
  next_try_ms bigint NOT NULL,
  entries integer NOT NULL CHECK (entries >= 0),
  ended_at_ms bigint,
  PRIMARY KEY (target, day)
);
COMMENT ON TABLE attention_notices IS 'daily notices of what needs attention, of the last 62 days';
COMMENT ON COLUMN attention_notices.day IS 'UTC';
COMMENT ON COLUMN attention_notices.target IS 'webhook, or mail: and the hash of an address';
COMMENT ON COLUMN attention_notices.next_try_ms IS 'Unix epoch ms; until then the process that claimed it may be sending it';
COMMENT ON COLUMN attention_notices.entries IS 'things that the target heard of, or may have';
COMMENT ON COLUMN attention_notices.ended_at_ms IS 'Unix epoch ms: it was sent, or there was nothing to say; null: neither';
