/** The library is a classic script, which a page loads before its module: a global, since its package has no small module. */
import type Plot from 'uplot'

declare global {
  const uPlot: typeof Plot
}
