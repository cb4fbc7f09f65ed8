/** How lines look: in colours that the style sheet knows by number, and in dashes, so that colour alone tells nothing. */

export interface LineStyle {
  /** The number of a chart colour in the style sheet. */
  readonly colour: number
  readonly dash: keyof typeof dashesPx
}

/** Lengths that are drawn and left out, in turn. */
export const dashesPx = { solid: [], dotted: [2, 3], mixed: [9, 3, 2, 3], dashed: [6, 4] } as const

/** Red is only for what is bad. */
const red = 5

export const badStyle: LineStyle = { colour: red, dash: 'solid' }

export const limitStyle: LineStyle = { colour: red, dash: 'dashed' }

/** In this order neighbours differ most. */
const colours = [1, 2, 3, 4, 6] as const

const dashes = ['solid', 'dotted', 'mixed'] as const

/** Fifteen styles, which then repeat. */
export function styleAt(place: number): LineStyle {
  const round = Math.floor(place / colours.length)
  return { colour: colours[place % colours.length] ?? 1, dash: dashes[round % dashes.length] ?? 'solid' }
}

/** By the name of a worker or route: the same in all charts for as long as one shows it. */
export class LineStyles {
  readonly #places = new Map<string, number>()

  /** Gives new names the first free styles, and frees those of names that are not in `names`. */
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
