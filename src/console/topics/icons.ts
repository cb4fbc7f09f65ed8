/** The page's icons, as paths of 16 by 16 pixels. Each icon has text next to it, so screen readers skip the icon. */
import { html, type TemplateResult } from 'lit-html'

const paths = {
  add: 'M8 3v10M3 8h10',
  copy: 'M6 6V3h7v7h-3M3 6h7v7H3z',
  edit: 'M3 13l1-3 7-7 2 2-7 7z',
  remove: 'M3 5h10M6 5V3h4v2M5 5l.5 8h5L11 5',
  changes: 'M2 8h3l2-5 3 10 2-5h2',
  download: 'M8 2v8M5 7l3 3 3-3M3 13h10',
  upload: 'M8 11V3M5 6l3-3 3 3M3 13h10',
  search: 'M7 2.500a4.500 4.500 0 1 0 0 9 4.500 4.500 0 0 0 0-9zM10.500 10.500L14 14',
} as const

export function icon(name: keyof typeof paths): TemplateResult {
  return html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d=${paths[name]}></path></svg>`
}
