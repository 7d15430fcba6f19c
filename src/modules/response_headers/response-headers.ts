import { defineModule } from '../contract/module.ts';
import { pathHeader } from '../header_changes/added-headers.ts';
import { headerProblems } from '../header_changes/check-headers.ts';
import { headerAgent } from '../header_changes/header-agent.ts';
import { headerChanges } from '../header_changes/header-changes.ts';
import { headerConfig, withLowerCaseNames } from '../header_changes/header-config.ts';
import { changeResponse } from './change-response.ts';

/** Changes the headers of responses of backends. */
export const responseHeaders = defineModule({
  name: 'response_headers',
  level: 'route',
  decidesAccess: false,
  readsPath: pathHeader,
  title: 'Response headers module',
  description: 'Removes headers from responses of the backend, and adds others. Pages of the edge itself keep theirs.',
  config: headerConfig('response'),
  example: { add: { 'x-frame-options': 'DENY' }, remove: ['server'] },
  shared: [headerChanges],
  createRuntime: async (ports) => ports.shared(headerChanges),
  check: (config) => headerProblems(config, () => null),
  normalize: withLowerCaseNames,
  agent: headerAgent('response', 7),
  prepare: (config, ports) => ({ ok: true, prepared: changeResponse(config, ports) }),
});
