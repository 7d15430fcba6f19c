import { type HeaderList, valuesOf } from '../../kit/http/header-values.ts';
import { isAuthority } from '../../kit/http/urls.ts';
import type { TrafficRequest } from '../contract/decides.ts';
import { defineModule } from '../contract/module.ts';
import type { PreparePorts } from '../contract/prepare.ts';
import type { HeaderChange, PreparedModule } from '../contract/prepared-module.ts';
import {
  AddedHeaders,
  type HeaderChangesState,
  headerChanges,
  headerProblems,
  type Objection,
  pathHeader,
} from '../header_changes/header-changes.ts';
import { type HeaderConfig, headerAgent, headerConfig, withLowerCaseNames } from '../header_changes/header-config.ts';

/** Removes first, then adds. A name whose value the server vouches for is removed too: a visitor could have sent it. */
function changeRequest(
  { add, remove }: HeaderConfig,
  { place, runtime }: PreparePorts<HeaderChangesState>,
): Pick<PreparedModule, 'transformRequest'> {
  const { host: hostValue, ...others } = add;
  const leftOut = (): void => runtime?.leftOut('request_headers');
  const headers = new AddedHeaders(others, leftOut);
  const host = hostValue === undefined ? null : new AddedHeaders({ host: hostValue }, leftOut);
  const removed = [...new Set([...remove, ...headers.vouchedNames])].filter((name) => name !== 'host');
  if (headers.fixed !== null && host === null) {
    const change: HeaderChange = { remove: removed, add: headers.fixed };
    return { transformRequest: () => change };
  }
  return {
    transformRequest: (request: TrafficRequest, sent: HeaderList): HeaderChange => {
      const source = { request, headerLines: (name: string) => valuesOf(sent, name), response: null, place };
      const [, replaced] = host === null ? [] : (host.fixed ?? host.list(source));
      const isHost = replaced !== undefined && isAuthority(replaced);
      if (replaced !== undefined && !isHost) leftOut();
      const change = { remove: removed, add: headers.fixed ?? headers.list(source) };
      return isHost ? { ...change, host: replaced } : change;
    },
  };
}

const NAME = 'request_headers';

/** Changes the headers that the upstream gets. */
export const requestHeaders = defineModule({
  name: NAME,
  on: ['requests'],
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
