/** Tokens created by an operator: which ones are accepted in files. No part of a token is ever shown. */
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { tokenOf } from '../../dist/auth/authorization.js'
import { readTokenFile } from '../../dist/auth/token.js'

const directory = t.testdir()

function fileWith(content: string): string {
  const file = join(directory, 'token')
  writeFileSync(file, content)
  return file
}

t.test('a token of random bits is accepted in any common notation, with or without a line end', async (t) => {
  for (let i = 0; i < 200; i++) {
    const bytes = randomBytes(16 + (i % 20))
    const notations = [bytes.toString('hex'), bytes.toString('base64'), bytes.toString('base64url')]
    for (const token of [
      ...notations,
      `topicd_${bytes.toString('base64url')}`,
      `${bytes.toString('hex').toUpperCase()}`,
    ]) {
      for (const end of ['', '\n', '\r\n']) t.equal(readTokenFile(fileWith(token + end)), token)
      t.equal(tokenOf(`Apikey ${token}`), token, 'a header can contain the token')
    }
  }
})

t.test('a guessable or malformed token is rejected without being shown', async (t) => {
  for (const [content, reason] of [
    ['', /is missing/],
    ['\n', /is missing/],
    ['secret', /can be guessed/],
    ['0123456789abcdef0123456789abcde', /can be guessed/],
    ['abcdefghijklmnopqrstu', /can be guessed/],
    ['abababababababababababababababababab', /can be guessed/],
    ['0123456789abcdef 0123456789abcdef', /has characters/],
    ['0123456789abcdef0123456789abcdef\n\n', /has characters/],
    ['0123456789abcdef0123456789abcdeé', /has characters/],
    [`0123456789abcdef${'x'.repeat(1020)}`, /is longer than 1024/],
  ] as const) {
    const file = fileWith(content)
    try {
      readTokenFile(file)
      t.fail(`the token was accepted: ${content}`)
    } catch (error) {
      const { message } = error as Error
      t.match(message, reason)
      t.notOk(content.length > 5 && message.includes(content.slice(0, 6)), message)
    }
  }
  t.throws(() => readTokenFile(join(directory, 'nowhere')), /nowhere cannot be read: ENOENT/)
  t.throws(() => readTokenFile(directory), /cannot be read: EISDIR/)
})
