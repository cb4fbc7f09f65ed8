/** Tokens: created and shown once, or read from an operator's file. Only hashes are stored, and no token is logged. */
import { createHash, randomBytes } from 'node:crypto'
import { closeSync, openSync, readSync } from 'node:fs'

/** 256 random bits, so that a plain SHA-256 of the token is as good as any slower hash. */
const tokenBytes = 32

/** Helps secret scanners and people recognise a token. */
const tokenPrefix = 'topicd_'

/** A new token, in characters that need no quoting in a header or a shell. */
export function makeToken(): string {
  return tokenPrefix + randomBytes(tokenBytes).toString('base64url')
}

/** SHA-256 of a token, lower-case hexadecimal: the only form in which it is stored. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token, 'utf8').digest('hex')
}

/** A larger file is not a token file. */
const tokenFileBytesMax = 1024

/** The characters of token68 in RFC 9110, 11.2. */
const tokenForm = /^[A-Za-z0-9._~+/-]+=*$/

/** A token with this many random bits is infeasible to guess. */
const guessBitsMin = 128

/** Minimum distinct characters: a random token of 128 bits has more in any notation; a repeated word has fewer. */
const distinctMin = 8

/**
 * Reads the token from an operator's file, such as a container secret.
 *
 * @throws Error if the file cannot be read or contains no usable token; the message never includes the file's contents
 */
export function readTokenFile(file: string): string {
  const text = readStart(file)
  const token = text.replace(/\r?\n$/, '')
  const problem = tokenProblem(token)
  if (problem !== undefined) throw new Error(`the token in ${file} ${problem}`)
  return token
}

function readStart(file: string): string {
  const buffer = Buffer.alloc(tokenFileBytesMax + 1)
  let descriptor: number | undefined
  try {
    descriptor = openSync(file, 'r')
    let end = 0
    // A pipe may return less than requested.
    for (let read = 1; read > 0 && end < buffer.length; end += read)
      read = readSync(descriptor, buffer, end, buffer.length - end, null)
    return buffer.toString('latin1', 0, end)
  } catch (error) {
    // The operator may have passed the token itself instead of a file name; do not show it.
    const name = file.includes('/') || tokenProblem(file) !== undefined ? ` ${file}` : ''
    const { code } = error as NodeJS.ErrnoException
    const cure = code === 'EACCES' ? `; this account (uid ${process.getuid?.()}) must be able to read it` : ''
    throw new Error(`the token file${name} cannot be read: ${code}${cure}`)
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

/** The reason why a string cannot be a token, worded to follow the token's name; undefined if it can be a token. */
function tokenProblem(token: string): string | undefined {
  if (token === '') return 'is missing: the file is empty'
  if (token.length > tokenFileBytesMax) return `is longer than ${tokenFileBytesMax} characters`
  if (!tokenForm.test(token)) return 'has characters other than letters, digits and . _ ~ + / - ='
  const bitsEach = /^[0-9a-f]+$/i.test(token) ? 4 : 6
  const isShort = token.length * bitsEach < guessBitsMin || new Set(token).size < distinctMin
  return isShort
    ? `can be guessed: it needs ${guessBitsMin} random bits, for example from "openssl rand -hex 32"`
    : undefined
}
