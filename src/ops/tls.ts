/** Checks a certificate and its key before anything listens: the HTTP library reports only a failure, not its cause. */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'

export interface Certificate {
  readonly expiresMs: number
}

/** @throws Error that names the file and what is wrong with it */
export function readCertificate(certFile: string, keyFile: string): Certificate {
  const cert = read('--tls-cert', certFile)
  const key = read('--tls-key', keyFile)
  const attempt = <T>(what: string, use: () => T): T => {
    try {
      return use()
    } catch (error) {
      throw new Error(`${what} (${(error as Error).message})`, { cause: error })
    }
  }
  attempt(`--tls-cert: ${certFile} contains no usable PEM certificate`, () => createSecureContext({ cert }))
  attempt(`--tls-key: ${keyFile} contains no PEM private key usable without a passphrase`, () =>
    createSecureContext({ key }),
  )
  attempt(`--tls-key: ${keyFile} is not the key of the certificate in ${certFile}`, () =>
    createSecureContext({ cert, key }),
  )
  return { expiresMs: Date.parse(new X509Certificate(cert).validTo) }
}

function read(flag: string, file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const advice =
      code === 'EACCES' ? `; the service's account (uid ${process.getuid?.()}) must be able to read it` : ''
    throw new Error(`${flag}: the file cannot be read: ${message}${advice}`, { cause: error })
  }
}
