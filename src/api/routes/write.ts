/** POST /topics/set, /add and /addAndSet: one operation on one topic. */
import typia from 'typia'
import type { WriteOperation } from '../../store/topics.js'
import type { AddAnswer, IncrementAnswer, SetAnswer } from '../answers.js'
import { parseWrite } from '../bodies/parse.js'
import { bodySchemas } from '../bodies/shapes.js'
import { answerOperation, needed } from '../operations.js'
import type { ApiRoute } from './route.js'

type WriteRoute = ApiRoute<WriteOperation>

function writeRouteParts(name: 'set' | 'add' | 'addAndSet') {
  return {
    name,
    isRead: false,
    needs: needed[name],
    statuses: [409, 507],
    parse: (bytes) => parseWrite(name, bytes),
    handle: answerOperation,
  } as const satisfies Partial<WriteRoute>
}

export const setRoute: WriteRoute = {
  ...writeRouteParts('set'),
  operationId: 'setTopic',
  summary: 'Sets the value of an existing topic, or adds a number to it.',
  bodies: bodySchemas.set,
  answers: typia.json.schemas<[SetAnswer, IncrementAnswer], '3.1'>(),
  answered: 'The value is set, on disk, and seen by every later request.',
  examples: [
    {
      name: 'json',
      summary: 'A new value',
      request: { path: 'plant/7/temp', value: { celsius: 21.75, at: '2030-01-01T12:00:00Z' } },
      answer: { path: 'plant/7/temp' },
    },
    {
      name: 'compareAndSet',
      summary: 'A new value, if the last one is unchanged',
      request: {
        path: 'plant/7/temp',
        value: { celsius: 22, at: '2030-01-01T12:01:00Z' },
        constraint: { value: { celsius: 21.75, at: '2030-01-01T12:00:00Z' } },
      },
      answer: { path: 'plant/7/temp' },
    },
  ],
}

export const addAndSetRoute: WriteRoute = {
  ...writeRouteParts('addAndSet'),
  operationId: 'addAndSetTopic',
  summary: 'Creates a topic if it does not exist, and sets its value.',
  bodies: bodySchemas.addAndSet,
  answers: typia.json.schemas<[AddAnswer], '3.1'>(),
  answered: 'The topic exists and its value is set.',
  examples: [
    {
      name: 'json',
      summary: 'Any JSON value',
      request: { path: 'plant/7/temp', value: 21.5 },
      answer: { path: 'plant/7/temp', created: true },
    },
    {
      name: 'string',
      summary: 'A topic of type string that expires',
      request: {
        path: 'plant/7/alarm',
        type: 'string',
        value: 'none',
        properties: { REMOVAL: 'when no updates for 1d' },
      },
      answer: { path: 'plant/7/alarm', created: true },
    },
  ],
}

/** Also succeeds if the topic exists, with either type. */
export const addRoute: WriteRoute = {
  ...writeRouteParts('add'),
  operationId: 'addTopic',
  summary: 'Creates a topic without a value; also succeeds if the topic already exists.',
  bodies: bodySchemas.add,
  answers: typia.json.schemas<[AddAnswer], '3.1'>(),
  answered: 'The topic exists.',
  examples: [
    {
      name: 'empty',
      summary: 'A topic without a value yet',
      request: { path: 'plant/7/humidity', properties: { VALIDATE_VALUES: 'true' } },
      answer: { path: 'plant/7/humidity', created: true },
    },
  ],
}
