import Type from 'typebox';
import { bodyProblem } from '../../../src/kit/schema/decode-body.ts';
import { defineModule, enabledField } from '../../../src/modules/contract/module.ts';
import type { OwnAnswer, OwnPathRequest } from '../../../src/modules/contract/prepared-module.ts';
import { throwawayAgentForm } from './agent-form.ts';
import { throwawayErrors } from './errors.ts';
import { throwawaySettings } from './settings.ts';

const PATH = '/.postern/throwaway';

/**
 * Declares everything that a module can. `throwaway-module.test.ts` copies this folder into a copy of `src/modules`.
 */
export const throwaway = defineModule({
  name: 'throwaway',
  on: ['requests'],
  decidesAccess: false,
  readsPath: false,
  title: 'Throwaway module',
  description: 'Greets the upstream.',
  config: Type.Object({
    enabled: enabledField,
    greeting: Type.String({ default: '', maxLength: 100, description: 'Sent to the upstream.' }),
  }),
  example: { greeting: 'hello' },
  settings: throwawaySettings,
  errors: { title: 'Traffic: throwaway', rows: throwawayErrors.rows },
  reservedHeaders: ['x-throwaway'],
  reservedCookies: ['throwaway.seen'],
  ownPaths: [PATH],
  agent: { form: throwawayAgentForm },
  check: ({ greeting }, { settings }) =>
    greeting.length > settings.throwaway_limit ? [bodyProblem('greeting', 'is longer than throwaway_limit')] : [],
  prepare: ({ greeting }, { settings }) => {
    const headers = ['x-throwaway', `${greeting} of ${settings.throwaway_limit}`];
    return { ok: true, prepared: { upstreamHeaders: () => headers, ownPaths: { serve } } };
  },
});

function serve({ path }: OwnPathRequest): OwnAnswer {
  if (path === PATH) return { status: 200, headers: ['content-type', 'text/plain'], body: 'thrown away' };
  const message = 'The throwaway module serves nothing here.';
  return { refusal: { status: 404, code: 'ERR_POSTERN_THROWAWAY', message, reason: 'throwaway' } };
}
