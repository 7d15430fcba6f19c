import { request } from '../../api/request.ts';
import { areAllowed } from '../../api/scopes.ts';
import { useLive } from '../../api/use-live.ts';
import type { Document } from '../../api/use-pages.ts';
import { usePages } from '../../api/use-pages.ts';
import { Chip } from '../../components/chip.tsx';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { LiveChip } from '../../components/live-chip.tsx';
import { ErrorNotice } from '../../components/notice.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { type Reference, RefLink } from '../../components/ref-link.tsx';
import { Tabs, useTab } from '../../components/tabs.tsx';
import { Time } from '../../components/time.tsx';
import { ValueView } from '../../components/value-view.tsx';
import { textAt } from '../../format/text.ts';
import { resourceType } from '../../schema/resource-types.ts';

const TABS = [
  ['tunnel_sessions', 'Agents'],
  ['tunnels', 'Tunnels'],
] as const;

export function TunnelsPage() {
  const tab = useTab(TABS.map(([id]) => id));
  const agents = usePages('/tunnel_sessions?limit=100', 'tunnel_sessions');
  const tunnels = usePages('/tunnels?limit=100', 'tunnels');
  const state = useLive('topics=tunnels', ({ topic }) => {
    if (topic !== 'tunnels') return;
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
        columns={tab === 'tunnels' ? TUNNEL_COLUMNS : agentColumns(agents.reload)}
        rows={pages.rows}
        rowKey={(row) => textAt(row, 'id')}
        hasMore={pages.hasMore}
        isLoading={pages.isLoading}
        loadMore={pages.loadMore}
        empty={
          <EmptyState title={tab === 'tunnels' ? 'No tunnels are open' : 'No agent is connected'}>
            <p>
              Create a credential on the page “Keys and credentials”, then run <code>postern http 3000</code> on the
              machine of your service.
            </p>
          </EmptyState>
        }
      />
    </>
  );
}

function agentColumns(reload: () => void): readonly Column<Document>[] {
  const actions = (resourceType('tunnel_sessions')?.actions ?? []).filter(
    ({ path, scopes }) => areAllowed(scopes) && /\/(stop|restart)$/.test(path),
  );
  return [
    { name: 'Agent', class: 'col-wide', cell: (row) => <AgentName row={row} /> },
    { name: 'Version', class: 'middle', cell: (row) => textAt(row, 'agent_version') },
    { name: 'System', class: 'low', cell: (row) => textAt(row, 'os') },
    { name: 'Credential', class: 'low', cell: (row) => <RefLink reference={row['credential'] as Reference | null} /> },
    { name: 'Since', class: 'col-time', cell: (row) => <Time at={row['started_at']} /> },
    ...(actions.length === 0
      ? []
      : [
          {
            name: 'Action',
            class: 'col-action',
            cell: (row: Document) => (
              <span class="line">
                {actions.map(({ path, summary }) => {
                  const verb = path.endsWith('/stop') ? 'Stop' : 'Restart';
                  return (
                    <ConfirmButton
                      key={path}
                      name={verb}
                      label={`${verb} the agent at ${textAt(row, 'ip')}`}
                      isSmall
                      isDanger={verb === 'Stop'}
                      question={`${verb} the agent at ${textAt(row, 'ip')}?`}
                      done={`${verb}: the agent was asked to.`}
                      act={() => request('POST', path.replace('{id}', encodeURIComponent(textAt(row, 'id'))))}
                      onDone={reload}
                    >
                      <p>{summary}.</p>
                    </ConfirmButton>
                  );
                })}
              </span>
            ),
          },
        ]),
  ];
}

function AgentName({ row }: { row: Document }) {
  return (
    <span class="line">
      <span class="mono">{textAt(row, 'ip')}</span>
      <span class="one-line muted" dir="auto">
        {textAt(row, 'metadata')}
      </span>
    </span>
  );
}

const TUNNEL_COLUMNS: readonly Column<Document>[] = [
  {
    name: 'Public URL or labels',
    class: 'col-wide',
    cell: (row) =>
      typeof row['public_url'] === 'string' && row['public_url'] !== '' ? (
        <span dir="auto">{row['public_url']}</span>
      ) : (
        <ValueView value={row['labels']} />
      ),
  },
  { name: 'Forwards to', cell: (row) => <span class="mono">{textAt(row, 'forwards_to')}</span> },
  { name: 'Protocol', class: 'middle', cell: (row) => (row['proto'] ? <Chip>{textAt(row, 'proto')}</Chip> : '') },
  { name: 'Agent', class: 'low', cell: (row) => <RefLink reference={row['tunnel_session'] as Reference | null} /> },
  { name: 'Since', class: 'col-time', cell: (row) => <Time at={row['started_at']} /> },
];
