/**
 * The end of the certificate that is in use: kept for the metrics, and looked at every day, so that a service that runs for
 * months warns in time, and not at its start alone.
 */
import type { Logger } from './log.js'
import type { Certificate } from './tls.js'

export interface CertificateWatch {
  /** From now on this one is in use, or none; looks at it at once. */
  use(certificate: Certificate | undefined): void
  /** In ms since the epoch; undefined without a certificate. */
  endMs(): number | undefined
}

const dayMs = 24 * 60 * 60 * 1000

/** A certificate that ends within this is worth a warning a day. */
const warningMs = 7 * dayMs

/** @param lookMs between two looks */
export function watchCertificate(log: Pick<Logger, 'warn'>, lookMs = dayMs): CertificateWatch {
  let used: Certificate | undefined

  function look(): void {
    if (used === undefined) return
    const leftMs = used.endMs - Date.now()
    if (leftMs > warningMs) return
    log.warn(
      { until: new Date(used.endMs).toISOString() },
      leftMs > 0 ? 'the certificate ends soon' : 'the certificate has ended',
    )
  }

  setInterval(look, lookMs).unref()
  return {
    use(certificate) {
      used = certificate
      look()
    },
    endMs: () => used?.endMs,
  }
}
