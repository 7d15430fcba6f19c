import Type from 'typebox';
import { resourceErrors } from '../errors.ts';
import type { Operation } from '../operation.ts';

const PATH = '/event_destinations/{id}';
const KIND = 'event_destination';

const testResult = Type.Object({
  is_delivered: Type.Boolean({ description: 'Whether the destination took the event.' }),
  status: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Status of the answer; null when none came, or where there is no such thing.',
    examples: [204],
  }),
  error: Type.Union([Type.String(), Type.Null()], {
    description: 'What went wrong; null when nothing did.',
    examples: ['the receiver answered 503'],
  }),
  duration_ms: Type.Integer({ description: 'How long it took, in milliseconds.', examples: [87] }),
  event: Type.Object({}, { additionalProperties: true, description: 'The event that was sent.' }),
});

/** Pausing, resuming and testing a destination. */
export const destinationActions: readonly Operation[] = [
  statusAction('pause', 'paused', 'Stop delivering to an event destination; its events wait'),
  statusAction('resume', 'active', 'Go on delivering to an event destination, with what waits first, at once'),
  {
    resource: 'event_destinations',
    verb: 'test',
    method: 'POST',
    path: `${PATH}/test`,
    summary: 'Send a sample event to an event destination',
    body: { schema: Type.Object({}), example: {}, parsing: 'ignored' },
    description:
      'It is signed like any other, goes past the lanes, and is sent whatever the status of the destination is. The body of the answer is not shown.',
    success: { status: 200, schema: testResult, description: 'What came back.' },
    errors: ['ERR_POSTERN_NOT_FOUND', 'ERR_POSTERN_NO_EVENT_DELIVERY'],
    run: async (request, { documents, destinationTester }) => {
      const destination = documents.require(KIND, request.params['id'] as string);
      if (destinationTester === null) {
        throw resourceErrors.create(
          'ERR_POSTERN_NO_EVENT_DELIVERY',
          'no process of this server delivers events, so there is nothing to try the destination out with',
        );
      }
      return { body: await destinationTester.test(destination) };
    },
  },
];

function statusAction(verb: string, status: string, summary: string): Operation {
  return {
    resource: 'event_destinations',
    verb,
    method: 'POST',
    path: `${PATH}/${verb}`,
    summary,
    description: 'Repeating it changes nothing and is no error. The body is ignored.',
    body: { schema: Type.Object({}), example: {}, parsing: 'ignored' },
    success: { status: 204, schema: null, description: 'Done.' },
    errors: ['ERR_POSTERN_NOT_FOUND'],
    run: async (request, { documents }) => {
      const { revision } = await documents.update(KIND, request.params['id'] as string, request, () => ({
        derived: { status },
      }));
      return { body: null, revision };
    },
  };
}
