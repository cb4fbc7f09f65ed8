/** Values like those of real devices: repetitive names and structure, varying numbers. Pure data. */
import { seeded } from './tree.js'

const sites = ['north', 'south', 'harbour', 'plant 4']
const sensors = ['temperature', 'pressure', 'flow', 'level', 'current', 'vibration']
const units = ['°C', 'bar', 'l/s', 'm', 'A', 'mm/s']

/** The value of device `index`, always the same: JSON of about 500 bytes. */
export function record(index: number): string {
  const random = seeded(index)
  const below = (count: number): number => Math.floor(random() * count)
  return JSON.stringify({
    id: `dev-${String(below(1e10)).padStart(10, '0')}`,
    name: `Pump station ${below(100)}`,
    site: sites[below(sites.length)],
    online: random() < 0.8,
    firmware: `4.${below(10)}.${below(30)}`,
    seen: new Date(1.75e12 + below(1e9)).toISOString(),
    position: { lat: 50 + below(1e6) / 1e6, lon: 7 + below(1e6) / 1e6 },
    readings: sensors.map((sensor, i) => ({ sensor, value: below(100_000) / 1000, unit: units[i] })),
    alarms: random() < 0.3 ? ['overheat'] : [],
  })
}
