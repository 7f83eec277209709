export type EngineName = 'kafka' | 'redis' | 's3' | 'clickhouse' | 'postgres'

/** A real engine for tests. */
export interface RunningEngine {
  /** `host:port` of Kafka, `redis://...`, `postgres://...`, `http://...` of S3 and ClickHouse. */
  url: string
  /** Where it comes from, for people. */
  origin: string
  stop(): Promise<void>
}

/** A private real engine, which the test may kill and pause. */
export interface OwnEngine extends RunningEngine {
  /** The folder of its data and log; deleted by `stop`. */
  dir: string
  /** kill -9. */
  kill(): Promise<void>
  /** Starts it again after `kill`, on the same data and address. */
  restart(): Promise<void>
  /** SIGSTOP. Resolves once none of its threads runs: the process exists but answers nothing. */
  pause(): Promise<void>
  /** SIGCONT. */
  resume(): void
}

/** How to run the process of an engine, and how to see that it takes requests. */
export interface Launch {
  command: string
  args: string[]
  url: string
  /** Rejects until the engine takes requests. */
  probe(): Promise<void>
}

interface ContainerRecipe {
  image: string
  /** Port inside the container; null for the same port as outside, for an engine that sends its own address to clients. */
  port: number | null
  environment(port: number): Record<string, string>
  url(host: string, port: number): string
}

/** How to get and run one engine. */
export interface Recipe {
  name: EngineName
  /** Environment variable with the address of a running engine. */
  variable: string
  container: ContainerRecipe
  /** Installs the engine, once per machine. Throws `EngineUnavailable` when that is impossible. */
  install(): Promise<void>
  /** Prepares `dir` and returns how to run the engine there. */
  launch(dir: string): Promise<Launch>
}

/** The engine is not available here. The message is one line with the reason. */
export class EngineUnavailable extends Error {
  override name = 'EngineUnavailable'
}
