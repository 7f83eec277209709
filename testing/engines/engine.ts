export type EngineName = 'kafka' | 'redis' | 's3' | 'clickhouse' | 'postgres'

/** A real engine that tests talk to. */
export interface RunningEngine {
  /** `host:port` of Kafka, `redis://...`, `postgres://...`, `http://...` of S3 and ClickHouse. */
  url: string
  /** How it was had, for people. */
  origin: string
  stop(): Promise<void>
}

/** A real engine of this test's own, whose failures can be played. */
export interface OwnEngine extends RunningEngine {
  /** Its data and its log; deleted with it. */
  dir: string
  /** kill -9. */
  kill(): Promise<void>
  /** Starts it again after `kill`, on the same data and address. */
  restart(): Promise<void>
  /** SIGSTOP; resolves once no thread of it runs: the process is there and answers nothing. */
  pause(): Promise<void>
  /** SIGCONT. */
  resume(): void
}

/** One process of an engine: what to run, and how to see that it takes requests. */
export interface Launch {
  command: string
  args: string[]
  url: string
  /** Rejects as long as it does not. */
  probe(): Promise<void>
}

interface ContainerRecipe {
  image: string
  /** Inside the container; null: the same number as outside, for an engine that tells clients its own address. */
  port: number | null
  environment(port: number): Record<string, string>
  url(host: string, port: number): string
}

/** How to get one engine. */
export interface Recipe {
  name: EngineName
  /** Environment variable with the address of an engine that is there already. */
  variable: string
  container: ContainerRecipe
  /** Gets what is missing, once a machine; rejects with a plain sentence when it can't be had. */
  install(): Promise<void>
  /** Prepares `dir` and says what to run. */
  launch(dir: string): Promise<Launch>
}

/** The engine can't be had here; the message is one plain line. */
export class EngineUnavailable extends Error {
  override name = 'EngineUnavailable'
}
