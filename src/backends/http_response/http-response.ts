import Type from 'typebox';
import { bodyProblem } from '../../lib/schema/decode-body.ts';
import { mapOf } from '../../lib/schema/map-of.ts';
import { defineBackend } from '../backend.ts';
import { httpResponseTargets } from './http-response-targets.ts';
import { responseHeadersProblem } from './response-headers-problem.ts';

/** Returns a fixed response. */
export const httpResponse = defineBackend({
  name: 'http_response',
  idPrefix: 'bkdhr',
  title: 'an HTTP response backend',
  readsPath: false,
  description: 'Returns the same response to every request.',
  config: () =>
    Type.Object({
      body: Type.String({ default: '', maxLength: 524_288, description: 'Body of the response, at most 512 KiB.' }),
      headers: mapOf(Type.String(), {
        default: {},
        maxProperties: 100,
        description: 'Headers of the response, such as {"content-type": "text/html"}.',
      }),
      status_code: Type.Integer({
        default: 200,
        minimum: 200,
        maximum: 599,
        description: 'Status of the response, 200 to 599.',
      }),
    }),
  example: { body: 'We are back at noon.', headers: { 'content-type': 'text/plain; charset=utf-8' }, status_code: 503 },
  check: (config) => {
    const problem = responseHeadersProblem(config.headers);
    return problem === null ? [] : [bodyProblem('headers', problem)];
  },
  // Nothing leaves the edge.
  sendsTo: () => [],
  targets: httpResponseTargets,
});
