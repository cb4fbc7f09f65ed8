/** The clocks of a simulated machine, for a store that the test opens directly. */

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

  /** Simulates a user setting the wall clock. */
  step(ms: number): void {
    this.wallMs += ms
  }

  /** Simulates a machine that is off for `offMs`. */
  restart(offMs: number): void {
    this.wallMs += offMs
    this.steadyMs = 5000
    this.boot = `after ${this.boot}`
  }
}
