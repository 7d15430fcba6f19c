import Type from 'typebox';
import { resourceErrors } from '../errors.ts';
import type { Operation } from '../operation.ts';
import type { DestinationPorts } from './destination-ports.ts';

const PATH = '/event_destinations/{id}';
const KIND = 'event_destination';

const testResult = Type.Object({
  is_delivered: Type.Boolean({ description: 'Whether the destination accepted the event.' }),
  status: Type.Union([Type.Integer(), Type.Null()], {
    description: 'HTTP status of the response; null if there was none or the destination does not use HTTP.',
    examples: [204],
  }),
  error: Type.Union([Type.String(), Type.Null()], {
    description: 'Error message; null if the attempt succeeded.',
    examples: ['the receiver returned 503'],
  }),
  duration_ms: Type.Integer({ description: 'Duration in milliseconds.', examples: [87] }),
  event: Type.Object({}, { additionalProperties: true, description: 'The event that was sent.' }),
});

/** Pausing, resuming and testing a destination. */
export const destinationActions: readonly Operation<DestinationPorts>[] = [
  statusAction('pause', 'paused', 'Pause an event destination; its deliveries stay pending'),
  statusAction('resume', 'active', 'Resume an event destination and deliver pending events immediately'),
  {
    resource: 'event_destinations',
    verb: 'test',
    method: 'POST',
    path: `${PATH}/test`,
    summary: 'Send a sample event to an event destination',
    body: { schema: Type.Object({}), example: {}, parsing: 'ignored' },
    description:
      'The event is signed like any other and sent immediately, ahead of pending deliveries and regardless of the status of the destination. The response body is not shown.',
    success: { status: 200, schema: testResult, description: 'Result of the test.' },
    errors: ['ERR_POSTERN_NOT_FOUND', 'ERR_POSTERN_NO_EVENT_DELIVERY'],
    run: async (request, { documents, destinationTester }) => {
      const destination = documents.require(KIND, request.params['id'] as string);
      if (destinationTester === null) {
        throw resourceErrors.create(
          'ERR_POSTERN_NO_EVENT_DELIVERY',
          'no node delivers events, so the destination cannot be tested: start one with the role events',
        );
      }
      return { body: await destinationTester.test(destination) };
    },
  },
];

function statusAction(verb: string, status: string, summary: string): Operation<DestinationPorts> {
  return {
    resource: 'event_destinations',
    verb,
    method: 'POST',
    path: `${PATH}/${verb}`,
    summary,
    description: 'Repeating the request has no further effect. The request body is ignored.',
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
