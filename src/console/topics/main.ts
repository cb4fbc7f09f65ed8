/** The page of the service. */
import { html, render } from '../vendor/lit-html.js'

render(html`<main><h1>topicd</h1></main>`, document.body)
