import type { Clock } from '../../lib/clock.ts';
import type { ModuleNetwork } from '../contract/keeps-state.ts';
import type { ConfiguredBy } from '../contract/prepare.ts';
import { agentIssuers } from './agent-issuers.ts';
import { plainHttpHosts } from './issuer-problem.ts';
import type { ProviderPorts } from './provider/provider.ts';
import type { LoginSettings } from './settings.ts';

/** How issuers are contacted. Separate: data about an operator's provider on a private network must not serve an agent. */
export function issuerPorts(
  settings: Pick<LoginSettings, 'oidc_http_issuers' | 'agent_issuer_allow_cidrs'>,
  network: ModuleNetwork,
  clock: Clock,
): Readonly<Record<ConfiguredBy, ProviderPorts>> {
  const isPlainHttpAllowed = plainHttpHosts(settings.oidc_http_issuers);
  const { isAddressAllowed, createFetch } = network;
  return {
    operator: { clock, isPlainHttpAllowed, fetch: createFetch({ isAddressAllowed, isPlainHttpAllowed }) },
    agent: {
      clock,
      ...agentIssuers({
        allowedCidrs: settings.agent_issuer_allow_cidrs,
        isUpstreamAllowed: isAddressAllowed,
        isPlainHttpAllowed,
        createFetch,
      }),
    },
  };
}
