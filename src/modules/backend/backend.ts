import Type from 'typebox';
import { backendRecordKinds } from '../../backends/record-kinds.ts';
import { idString, reference } from '../../kit/schema/annotations.ts';
import { defineModule, enabledField } from '../contract/module.ts';

const backendConfig = Type.Object({
  enabled: enabledField,
  backend_id: reference(
    { kinds: backendRecordKinds, readAs: 'backend' },
    idString('Id of the backend, of any kind, that receives the requests of this route.'),
  ),
});

/** Selects the backend of a route's requests. */
export const backend = defineModule({
  name: 'backend',
  on: ['requests', 'connections'],
  decidesAccess: false,
  readsPath: false,
  title: 'Backend module',
  description: 'Forwards requests to a backend. A route without an enabled backend module returns 503.',
  config: backendConfig,
  example: { backend_id: 'bkdsc_2zXAMPLEbackendOfTheDocsAAA' },
  prepare: (config) => ({ ok: true, prepared: { backendId: config.backend_id } }),
});
