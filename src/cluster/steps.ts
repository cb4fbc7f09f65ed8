/** Shutting down in several steps: each step is taken even if an earlier one failed. */

/** @param onFailure gets the error of each failed step */
export async function takeAllSteps(
  steps: readonly (() => unknown)[],
  onFailure: (error: unknown) => void,
): Promise<void> {
  for (const step of steps) {
    try {
      await step()
    } catch (error) {
      onFailure(error)
    }
  }
}
