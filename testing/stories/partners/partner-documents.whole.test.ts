// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { postbackSignature } from '@tributary/domain/partner/signature'
import { describeWith } from '@tributary/testing/engines/describe-with-engine'
import { needed } from '@tributary/testing/engines/install'
import { afterAll, expect, it, test } from 'vitest'

const root = join(import.meta.dirname, '..', '..', '..')
const page = readFileSync(join(root, 'docs', 'postbacks.md'), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'tributary-partner-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const secret = 'very-secret ü'
const now_s = Math.floor(Date.now() / 1000)

interface Case {
  method: string
  path: string
  body: string
  signature: string
}

/** Postbacks, by whether a partner takes them. */
function cases(): Case[] {
  const get = { time_s: now_s, method: 'GET', path: '/heard?click=c%201%26&amount=4.99', body: '' }
  const post = { ...get, method: 'POST', body: '{"event_name":"purchase","sub1":"ü%"}' }
  const signed = (of: typeof get, by = secret) => ({ ...of, signature: postbackSignature(by, of) })
  const of = signed(get)
  return [
    ...[of, signed(post), signed({ ...get, time_s: now_s - 200 }), signed({ ...get, time_s: now_s + 200 })],
    ...[signed({ ...get, time_s: now_s - 400 }), signed({ ...get, time_s: now_s + 400 }), signed(get, 'other')],
    ...[
      { ...of, path: '/heard?click=other' },
      { ...of, body: 'x' },
      { ...signed(post), method: 'GET' },
    ],
    ...[
      { ...of, signature: '' },
      { ...of, signature: of.signature.slice(0, -1) },
    ],
    ...[
      { ...of, signature: `x${of.signature}` },
      { ...of, signature: of.signature.toUpperCase() },
    ],
  ].map(({ method, path, body, signature }) => ({ method, path, body, signature }))
}
const taken_count = 4

/** The code of a language in the document. */
function shown(language: string): string {
  const [, code] =
    new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\n\`\`\``).exec(page.split('## Verify the signature')[1] ?? '') ?? []
  if (code === undefined) throw new Error(`docs/postbacks.md shows no ${language}`)
  return code
}

interface Language {
  name: string
  file: string
  /** A program that reads lines `[method, path, body, signature]` and writes whether each is signed. */
  program(code: string): string
  /** The text that it signs, as it writes it. */
  signs: string
  /** Runs the file. */
  command: [string, ...string[]]
}

const languages: Language[] = [
  {
    ...{ name: 'js', file: 'verify.mjs', command: ['node'] },
    signs: '${t}.${method} ${url}.${body}',
    program: (code) => `${code}
import { readFileSync } from 'node:fs'
for (const line of readFileSync(0, 'utf8').trim().split('\\n')) {
  const [method, url, body, signature] = JSON.parse(line)
  console.log(isSigned(${JSON.stringify(secret)}, { method, url, headers: { 'x-tributary-signature': signature } }, body))
}`,
  },
  {
    ...{ name: 'python', file: 'verify.py', command: ['python3'] },
    signs: '{found[1]}.{method} {path}.{body}',
    program: (code) => `${code}

import json, sys
for line in sys.stdin:
    method, path, body, signature = json.loads(line)
    print("true" if is_signed("${secret}", method, path, signature, body) else "false")`,
  },
  {
    ...{ name: 'go', file: 'verify.go', command: ['go', 'run'] },
    signs: '"%s.%s %s.%s", found[1], r.Method, r.RequestURI, body',
    program: (code) => `package main

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"time"
)

${code}

func main() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var one [4]string
		json.Unmarshal(lines.Bytes(), &one)
		r := &http.Request{Method: one[0], RequestURI: one[1], Header: http.Header{}}
		r.Header.Set("X-Tributary-Signature", one[3])
		fmt.Println(isSigned("${secret}", r, []byte(one[2])))
	}
}`,
  },
  {
    ...{ name: 'php', file: 'verify.php', command: ['php'] },
    signs: '$found[1].$method $path.$body',
    program: (code) => `<?php
${code}
while (($line = fgets(STDIN)) !== false) {
    [$method, $path, $body, $signature] = json_decode($line);
    echo is_signed('${secret}', $method, $path, $signature, $body) ? "true\\n" : "false\\n";
}`,
  },
  {
    ...{ name: 'ruby', file: 'verify.rb', command: ['ruby'] },
    signs: '#{found[1]}.#{method} #{path}.#{body}',
    program: (code) => `${code}
require 'json'
STDIN.each_line do |line|
  method, path, body, signature = JSON.parse(line)
  puts signed?('${secret}', method, path, signature, body)
end`,
  },
]

async function run([command, ...args]: readonly [string, ...string[]], input: string): Promise<string[]> {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, LC_ALL: 'C.UTF-8' } })
  child.stdin.on('error', () => {}) // a program that ends early
  child.stdin.end(input)
  const [stdout] = await Promise.all([text(child.stdout), once(child, 'close')])
  return stdout.trim().split('\n')
}

for (const { name, file, signs, program, command } of languages) {
  test(`the ${name} of the document names format, age, text and hash of the rule`, () => {
    const code = shown(name)
    expect(code).toContain('t=(\\d+),v1=([0-9a-f]{64})')
    expect(code).toContain(signs)
    expect(code).toMatch(/\b300\b/)
    expect(code).toMatch(/sha256/i)
    expect(code).toMatch(/timingSafeEqual|compare_digest|hmac\.Equal|hash_equals|fixed_length_secure_compare/)
  })
  // Other languages than that of this project are run where they are installed.
  const is_here = await needed(command[0], '').then(
    () => true,
    () => false,
  )
  if (command[0] !== process.execPath && command[0] !== 'node' && !is_here) {
    test.skip(`the ${name} of docs/postbacks.md takes what is signed: ${command[0]} is not installed`)
    continue
  }
  const open = async () => {
    await needed(command[0], `the ${name} of docs/postbacks.md needs ${command[0]}`)
    return { stop: async () => {} }
  }
  await describeWith(`${name} of docs/postbacks.md`, open, () => {
    it('takes what is signed, and nothing else', async () => {
      const path = join(folder, file)
      writeFileSync(path, program(shown(name)))
      const all = cases()
      const input = all.map((one) => `${JSON.stringify([one.method, one.path, one.body, one.signature])}\n`).join('')
      expect(await run([...command, path], input)).toEqual(all.map((_, n) => String(n < taken_count)))
    })
  })
}

test('the example server takes what is signed, counts a key once, and counts no test', async () => {
  const readme = readFileSync(join(root, 'examples', 'partner-server', 'README.md'), 'utf8')
  expect(readme).toContain('node examples/partner-server/server.mjs 9090')
  const child = spawn('node', [join(root, 'examples', 'partner-server', 'server.mjs'), '0'], {
    ...{ env: { ...process.env, PARTNER_SECRET: secret }, stdio: ['ignore', 'pipe', 'inherit'] },
  })
  try {
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
    const [url = ''] = /http:\S+/.exec((await lines.next()).value ?? '') ?? []
    const send = async ({ method, path, body, signature }: Case, key: string, more: Record<string, string> = {}) => {
      const headers = {
        'idempotency-key': key,
        ...(signature !== '' && { 'x-tributary-signature': signature }),
        ...more,
      }
      return (await fetch(`${url}${path}`, { method, headers, ...(body !== '' && method === 'POST' && { body }) }))
        .status
    }
    const counted = async () => JSON.parse((await lines.next()).value ?? '') as Record<string, unknown>
    const [get, post, , , old, , , , , , unsigned] = cases()
    expect([await send(unsigned!, 'k'), await send(old!, 'k')]).toEqual([401, 401])
    expect(await send(get!, 'tested', { 'x-tributary-test': '1' })).toBe(200)
    expect(await counted()).toEqual({ counted: false, click: 'c 1&', amount: '4.99' })
    for (const [one, key, isNew] of [
      [get, 'k-1', true],
      [get, 'k-1', false],
      [post, 'k-2', true],
    ] as const) {
      expect(await send(one!, key)).toBe(200)
      expect(await counted()).toMatchObject({ counted: isNew })
    }
  } finally {
    child.kill()
    await once(child, 'exit')
  }
})
