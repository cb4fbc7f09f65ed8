/** Turns of the event loop of this process: for what a test sees without a service. */

export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

export async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await turn()
}

/** Resolves once it holds; fails after a time that only a defect takes. */
export async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const endMs = Date.now() + 60_000; !(await holds()); await turn())
    if (Date.now() > endMs) throw new Error(`it never happened that ${holds}`)
}
