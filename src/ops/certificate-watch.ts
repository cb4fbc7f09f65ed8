/** The expiry of the certificate in use: for metrics, and checked daily to warn in time, months after the start. */
import type { Logger } from './log.js'
import type { Certificate } from './tls.js'

interface CertificateWatch {
  /** From now on this certificate is in use, or none; checks it at once. */
  use(certificate: Certificate | undefined): void
  /** When it expires, in ms since the epoch; undefined without a certificate. */
  expiresMs(): number | undefined
}

const dayMs = 24 * 60 * 60 * 1000

/** A certificate that expires within this time is worth one warning per day. */
const warningMs = 7 * dayMs

/** @param checkMs between two checks */
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
