/** Styles of lines: colours, by their number in the style sheet, and dashes, so that lines do not differ by colour alone. */

export interface LineStyle {
  /** The number of a chart colour in the style sheet. */
  readonly colour: number
  readonly dash: keyof typeof dashesPx
}

/** Lengths of dashes and of the space between them, in turn. */
export const dashesPx = { solid: [], dotted: [2, 3], mixed: [9, 3, 2, 3], dashed: [6, 4] } as const

/** Red is reserved for errors and limits. */
const red = 5

export const badStyle: LineStyle = { colour: red, dash: 'solid' }

export const limitStyle: LineStyle = { colour: red, dash: 'dashed' }

/** Ordered so that consecutive colours differ most. */
const colours = [1, 2, 3, 4, 6] as const

const dashes = ['solid', 'dotted', 'mixed'] as const

/** One of fifteen styles, which repeat. */
export function styleAt(place: number): LineStyle {
  const round = Math.floor(place / colours.length)
  return { colour: colours[place % colours.length] ?? 1, dash: dashes[round % dashes.length] ?? 'solid' }
}

/** The styles by the name of a worker or route: the same in all charts as long as the name is shown. */
export class LineStyles {
  readonly #places = new Map<string, number>()

  /** Assigns the first free styles to new names, and frees the styles of names that are not in `names`. */
  assign(names: readonly string[]): readonly (readonly [name: string, style: LineStyle])[] {
    for (const name of this.#places.keys()) if (!names.includes(name)) this.#places.delete(name)
    for (const name of names) if (!this.#places.has(name)) this.#places.set(name, this.#firstFree())
    return Array.from(this.#places, ([name, place]) => [name, styleAt(place)])
  }

  #firstFree(): number {
    const taken = new Set(this.#places.values())
    let place = 0
    while (taken.has(place)) place++
    return place
  }
}
