import Type from 'typebox';
import { defineModule, enabledField } from '../contract/module.ts';

const tlsTerminationConfig = Type.Object({
  enabled: enabledField,
  min_version: Type.Enum(['1.2', '1.3'], {
    default: '1.2',
    description: 'The lowest TLS version that clients may use: "1.2" or "1.3".',
  }),
});

/** Sets the minimum TLS version of an edge. */
export const tlsTermination = defineModule({
  name: 'tls_termination',
  on: ['handshakes'],
  decidesAccess: false,
  readsPath: false,
  title: 'TLS termination module',
  description: 'Configures TLS termination at the edge.',
  config: tlsTerminationConfig,
  constants: {
    schema: { terminate_at: Type.Literal('edge', { description: 'Where TLS is terminated: always "edge".' }) },
    values: { terminate_at: 'edge' },
  },
  example: { min_version: '1.3' },
  prepare: (config) => ({ ok: true, prepared: { tls: { minVersion: `TLSv${config.min_version}` } } }),
});
