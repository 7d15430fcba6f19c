import { defineModule } from '../contract/module.ts';
import { pathHeader } from '../header_changes/added-headers.ts';
import { headerProblems, type Objection } from '../header_changes/check-headers.ts';
import { headerAgent } from '../header_changes/header-agent.ts';
import { headerChanges } from '../header_changes/header-changes.ts';
import { headerConfig, withLowerCaseNames } from '../header_changes/header-config.ts';
import { changeRequest } from './change-request.ts';

const NAME = 'request_headers';

/** Changes the headers that the upstream gets. */
export const requestHeaders = defineModule({
  name: NAME,
  level: 'route',
  decidesAccess: false,
  readsPath: pathHeader,
  title: 'Request headers module',
  description: 'Removes headers from requests, and adds others, before they reach the upstream.',
  config: headerConfig('request'),
  example: { add: { 'x-client-address': `\${conn.client_ip}` }, remove: ['x-debug'] },
  shared: [headerChanges],
  createRuntime: async (ports) => ports.shared(headerChanges),
  check: (config) => headerProblems(config, objection),
  normalize: withLowerCaseNames,
  agent: headerAgent('request', 6),
  prepare: (config, ports) => ({ ok: true, prepared: changeRequest(config, ports) }),
});

const objection: Objection = (name, act, { add }) => {
  if (name === 'user-agent') return 'must not contain "user-agent": it says which program the visitor uses';
  const isForwarded = name.startsWith('x-forwarded-') || name === 'forwarded' || name === 'x-real-ip';
  if (isForwarded && act === 'add')
    return `must not contain "${name}": only the edge says where a request comes from, in X-Forwarded-For, X-Forwarded-Host and X-Forwarded-Proto. Let the service read these`;
  const replacesHost = Object.keys(add).some((each) => each.toLowerCase() === 'host');
  if (name === 'host' && act === 'remove' && !replacesHost)
    return 'must not contain "host", which every request needs: add "host" to replace it';
  return null;
};
