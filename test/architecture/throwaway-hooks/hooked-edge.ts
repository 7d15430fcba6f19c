import Type from 'typebox';
import { defineModule, enabledField } from '../../../src/modules/contract/module.ts';

/** A module of edges, which speaks to the TLS layer. */
export const hookedEdge = defineModule({
  name: 'hooked_edge',
  on: ['handshakes'],
  decidesAccess: false,
  readsPath: false,
  title: 'Hooked edge module',
  description: 'Requires TLS 1.3.',
  config: Type.Object({
    enabled: enabledField,
    closed: Type.Boolean({ default: false, description: 'Whether no client certificate suffices.' }),
  }),
  constants: {
    schema: { kept: Type.Literal('always', { description: 'Always "always".' }) },
    values: { kept: 'always' },
  },
  example: {},
  prepare: ({ closed }) => {
    if (closed) {
      const problem = { code: 'ERR_POSTERN_MODULE_UNAVAILABLE', message: 'the edge is closed' } as const;
      return { ok: false, problem, tls: { clientAuthorities: [] } };
    }
    const revocation = { version: '1', judge: () => ({ refusal: null, unchecked: null }) };
    return { ok: true, prepared: { tls: { minVersion: 'TLSv1.3', revocation } } };
  },
});
