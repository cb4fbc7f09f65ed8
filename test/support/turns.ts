/** Turns of this process's event loop, for tests without a service. */

export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

export async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await turn()
}

/** Resolves when `holds` returns true; fails after a time that only a defect exceeds. */
export async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const endMs = Date.now() + 60_000; !(await holds()); await turn())
    if (Date.now() > endMs) throw new Error(`never became true: ${holds}`)
}
