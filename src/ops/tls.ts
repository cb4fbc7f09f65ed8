/**
 * Certificates: a certificate and its key are checked before anything listens, because the HTTP library reports a failure
 * without its cause. The expiry of the certificate in use is watched.
 */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import type { Logger } from './log.js'

export interface Certificate {
  readonly expiresMs: number
}

/** @throws Error that names the file and its problem */
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

interface CertificateWatch {
  /** Sets the certificate in use, if any, and checks it immediately. */
  use(certificate: Certificate | undefined): void
  /** The expiry as Unix time in ms; undefined without a certificate. */
  expiresMs(): number | undefined
}

const dayMs = 24 * 60 * 60 * 1000

/** A certificate that expires within this time is worth one warning per day. */
const warningMs = 7 * dayMs

/** Watches the certificate in use: a daily check warns in time, even months after the start, and metrics show its expiry. */
export function watchCertificate(log: Pick<Logger, 'warn'>, checkMs = dayMs): CertificateWatch {
  let used: Certificate | undefined

  function check(): void {
    if (used === undefined) return
    const leftMs = used.expiresMs - Date.now()
    if (leftMs > warningMs) return
    log.warn(
      { until: new Date(used.expiresMs).toISOString() },
      leftMs > 0 ? 'the certificate expires soon' : 'the certificate has expired',
    )
  }

  setInterval(check, checkMs).unref()
  return {
    use(certificate) {
      used = certificate
      check()
    },
    expiresMs: () => used?.expiresMs,
  }
}
