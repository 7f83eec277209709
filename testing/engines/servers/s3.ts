import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Launch, Recipe } from '../engine.ts'
import { freePorts } from '../ports.ts'
import { installJava, javaArguments } from './java.ts'

const version = '4.6.0'
/** The BOM keeps one logger on the class path. Two loggers would conflict. */
const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tributary</groupId><artifactId>test-s3</artifactId><version>1</version>
  <dependencyManagement><dependencies>
    <dependency><groupId>org.springframework.boot</groupId><artifactId>spring-boot-dependencies</artifactId><version>3.5.3</version><type>pom</type><scope>import</scope></dependency>
  </dependencies></dependencyManagement>
  <dependencies>
    <dependency><groupId>com.adobe.testing</groupId><artifactId>s3mock</artifactId><version>${version}</version></dependency>
  </dependencies>
</project>
`

/**
 * Adobe S3Mock, from Maven Central: one of the few free servers with `If-None-Match: *`. It writes its list of objects anew at each put, so
 * a bucket of some thousands takes a few a second. `TRIBUTARY_TEST_VERSITYGW` is the path of a program that is started in its place
 * (versitygw, Apache-2.0, from the Go module proxy).
 */
export const s3: Recipe = {
  name: 's3',
  variable: 'TRIBUTARY_TEST_S3_URL',
  container: {
    image: `adobe/s3mock:${version}`,
    port: 9090,
    environment: () => ({}),
    url: (host, port) => `http://${host}:${port}`,
  },
  install: () => installJava({ name: 's3', pom, launch }),
  launch,
}

async function launch(dir: string): Promise<Launch> {
  const [port = 0, tls = 0] = await freePorts(2)
  const url = `http://127.0.0.1:${port}`
  const probe = async () => {
    const answer = await fetch(url, { signal: AbortSignal.timeout(1000) })
    await answer.arrayBuffer()
  }
  const data = join(dir, 'data')
  const versitygw = process.env.TRIBUTARY_TEST_VERSITYGW
  if (versitygw !== undefined) {
    await mkdir(join(data, 'tributary'), { recursive: true })
    const account = ['--access', 'test', '--secret', 'test']
    const args = [...account, '--port', `127.0.0.1:${port}`, '--quiet', 'posix', data]
    return { command: versitygw, args, url, probe }
  }
  const store = [`root=${data}`, 'initialBuckets=tributary'].map(
    (setting) => `--com.adobe.testing.s3mock.store.${setting}`,
  )
  const ports = [`--com.adobe.testing.s3mock.httpPort=${port}`, `--server.port=${tls}`]
  return {
    command: 'java',
    args: [
      '-Xmx256m',
      '-XX:TieredStopAtLevel=1',
      ...javaArguments({ name: 's3', pom }),
      'com.adobe.testing.s3mock.S3MockApplication',
      ...ports,
      ...store,
    ],
    url,
    probe,
  }
}
