import { isAllowed } from '../../api/scopes.ts';
import { useLive } from '../../api/use-live.ts';
import { usePages } from '../../api/use-pages.ts';
import { DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { LiveChip } from '../../components/live-chip.tsx';
import { ErrorNotice } from '../../components/notice.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { Tabs, useTab } from '../../components/tabs.tsx';
import { textAt } from '../../format/text.ts';
import { href } from '../../router/location.ts';
import { agentColumns } from './agent-columns.tsx';
import { tunnelColumns } from './tunnel-columns.tsx';
import { useTunnelTraffic } from './tunnel-traffic.ts';

const TABS = [
  ['tunnel_sessions', 'Agents'],
  ['tunnels', 'Tunnels'],
] as const;

export function TunnelsPage() {
  const tab = useTab(TABS.map(([id]) => id));
  const agents = usePages('/tunnel_sessions?limit=100', 'tunnel_sessions');
  const tunnels = usePages('/tunnels?limit=100', 'tunnels');
  const { traffic, take } = useTunnelTraffic();
  const topics = isAllowed('tunnel_sessions:read') ? 'topics=tunnels,tunnel_traffic' : 'topics=tunnels';
  const state = useLive(topics, (message) => {
    take(message);
    if (message.topic !== 'tunnels') return;
    agents.reload();
    tunnels.reload();
  });
  const pages = tab === 'tunnels' ? tunnels : agents;
  return (
    <>
      <PageHead title="Tunnels" hint="Agents that are connected now, and the tunnels that they keep open.">
        <LiveChip state={state} />
        <button
          type="button"
          onClick={() => {
            agents.reload();
            tunnels.reload();
          }}
        >
          Reload
        </button>
      </PageHead>
      <Tabs label="Agents and tunnels" tabs={TABS} />
      {pages.error !== null && <ErrorNotice error={pages.error} retry={pages.reload} />}
      <DataTable
        label={tab === 'tunnels' ? 'Tunnels' : 'Agents'}
        columns={tab === 'tunnels' ? tunnelColumns(traffic) : agentColumns(traffic, agents.reload)}
        rows={pages.rows}
        rowKey={(row) => textAt(row, 'id')}
        hasMore={pages.hasMore}
        isLoading={pages.isLoading}
        loadMore={pages.loadMore}
        empty={
          <EmptyState title={tab === 'tunnels' ? 'No tunnels are open' : 'No agent is connected'}>
            <p>
              Invite an agent on the page <a href={href('/keys?tab=agent_invitations')}>Keys and tokens</a>, then run{' '}
              <code>postern http 3000</code> on the machine of your service.
            </p>
          </EmptyState>
        }
      />
    </>
  );
}
