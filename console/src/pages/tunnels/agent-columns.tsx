import { request } from '../../api/request.ts';
import { areAllowed } from '../../api/scopes.ts';
import type { Document } from '../../api/use-pages.ts';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import type { Column } from '../../components/data-table.tsx';
import { RefLink } from '../../components/ref-link.tsx';
import { Time } from '../../components/time.tsx';
import { byteText } from '../../format/amounts.ts';
import { textAt } from '../../format/text.ts';
import type { Reference } from '../../schema/load-by-ids.ts';
import { resourceType } from '../../schema/resource-types.ts';
import { Latency } from './latency.tsx';
import type { LiveTraffic } from './tunnel-traffic.ts';

export function agentColumns(traffic: LiveTraffic, reload: () => void): readonly Column<Document>[] {
  const actions = (resourceType('tunnel_sessions')?.actions ?? []).filter(
    ({ path, scopes }) => areAllowed(scopes) && /\/(stop|restart)$/.test(path),
  );
  return [
    { name: 'Agent', class: 'col-quarter', cell: (row) => <AgentName row={row} /> },
    {
      name: 'Latency',
      class: 'number col-latency',
      cell: (row) => <Latency agent={traffic.agent(textAt(row, 'id'))} />,
    },
    { name: 'Traffic', class: 'middle number col-rate', cell: (row) => <ByteRate row={row} traffic={traffic} /> },
    { name: 'Version', class: 'low', cell: (row) => textAt(row, 'agent_version') },
    { name: 'System', class: 'low', cell: (row) => textAt(row, 'os') },
    {
      name: 'Agent token',
      class: 'low',
      cell: (row) => <RefLink reference={row['credential'] as Reference | null} />,
    },
    { name: 'Since', class: 'middle col-time', cell: (row) => <Time at={row['started_at']} /> },
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
      <span class="one-line muted middle" dir="auto">
        {textAt(row, 'metadata')}
      </span>
    </span>
  );
}

function ByteRate({ row, traffic }: { row: Document; traffic: LiveTraffic }) {
  const rates = traffic.agentRates(textAt(row, 'id'));
  const total = traffic.agent(textAt(row, 'id'))?.bytes;
  if (rates === null || total === undefined) return <span class="muted">–</span>;
  return <span title={`${byteText(total)} since it connected`}>{`${byteText(rates.bytes)}/s`}</span>;
}
