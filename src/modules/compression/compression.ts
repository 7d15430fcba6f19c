import Type from 'typebox';
import { defineModule, enabledField } from '../contract/module.ts';
import { compressionAgentForm } from './agent-form.ts';
import { compressResponse } from './compress-response.ts';

const compressionConfig = Type.Object({ enabled: enabledField });

/** Compresses responses for clients that accept it. */
export const compression = defineModule({
  name: 'compression',
  level: 'route',
  decidesAccess: false,
  readsPath: false,
  title: 'Compression module',
  description: 'Compresses responses for clients that accept compression.',
  config: compressionConfig,
  example: { enabled: true },
  agent: { form: compressionAgentForm },
  prepare: () => ({ ok: true, prepared: { transform: compressResponse } }),
});
