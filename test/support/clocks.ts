/** The clocks of a simulated machine, for a store that a test opens itself. */

/** A machine's clocks, moved by hand. */
export class Clocks {
  wallMs = Date.parse('2030-01-01T00:00:00Z')
  steadyMs = 1_000_000
  boot = 'first'
  readonly read = () => ({ wallMs: this.wallMs, steadyMs: this.steadyMs, boot: this.boot })

  pass(ms: number): void {
    this.wallMs += ms
    this.steadyMs += ms
  }

  /** Somebody sets the wall clock. */
  step(ms: number): void {
    this.wallMs += ms
  }

  /** The machine is off for this long. */
  restart(offMs: number): void {
    this.wallMs += offMs
    this.steadyMs = 5000
    this.boot = `after ${this.boot}`
  }
}
