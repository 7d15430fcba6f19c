import type { Document, Pages } from '../../api/use-pages.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { RefLink } from '../../components/ref-link.tsx';
import { textAt } from '../../format/text.ts';
import type { Reference } from '../../schema/load-by-ids.ts';
import { figureText } from './site-columns.tsx';
import { useDocuments } from './use-documents.ts';
import type { SiteFigures } from './use-site-figures.ts';

interface AgentSitesProps {
  /** Tunnels that are open. */
  readonly pages: Pages;
  readonly figures: SiteFigures;
  readonly round: number;
}

/** Hosts that agents publish themselves, such as containers by their labels: they are there as long as the agent is. */
export function AgentSites({ pages, figures, round }: AgentSitesProps) {
  const published = pages.rows.filter((tunnel) => textAt(tunnel, 'public_url') !== '');
  const endpoints = useDocuments(published.flatMap(endpointOf), round);
  if (published.length === 0) return null;
  return (
    <section class="stack-small" aria-label="Published by agents">
      <h2>Published by agents</h2>
      <p class="hint">
        An agent keeps these open by itself. To change who may enter, change its file, its flags or the labels of its
        containers.
      </p>
      <DataTable
        label="Sites of agents"
        columns={columns(figures, endpoints)}
        rows={published}
        rowKey={(tunnel) => textAt(tunnel, 'id')}
        hasMore={pages.hasMore}
        isLoading={pages.isLoading}
        loadMore={pages.loadMore}
        isStacked
      />
    </section>
  );
}

function endpointOf(tunnel: Document): readonly Reference[] {
  const endpoint = tunnel['endpoint'] as Reference | undefined;
  return endpoint === undefined ? [] : [endpoint];
}

function columns(figures: SiteFigures, endpoints: ReadonlyMap<string, Document>): readonly Column<Document>[] {
  const endpointId = (tunnel: Document): string => endpointOf(tunnel)[0]?.id ?? '';
  return [
    { name: 'Host', class: 'col-quarter', cell: (tunnel) => <PublicLink url={textAt(tunnel, 'public_url')} /> },
    { name: 'Goes to', class: 'middle', cell: (tunnel) => <span dir="auto">{textAt(tunnel, 'forwards_to')}</span> },
    {
      name: 'Who may enter',
      class: 'middle',
      cell: (tunnel) => <WhoMayEnter rules={endpoints.get(endpointId(tunnel))?.['entry_rules']} />,
    },
    {
      name: 'Agent',
      class: 'middle',
      cell: (tunnel) => <RefLink reference={tunnel['tunnel_session'] as Reference | null} />,
    },
    {
      name: 'Requests',
      class: 'number col-figure',
      cell: (tunnel) => figureText(figures, endpointId(tunnel), 'requests'),
    },
    {
      name: 'Errors',
      class: 'number col-figure low',
      cell: (tunnel) => figureText(figures, endpointId(tunnel), 'errors'),
    },
  ];
}

function WhoMayEnter({ rules }: { rules: unknown }) {
  if (!Array.isArray(rules)) return <span class="muted">–</span>;
  const text = rules.length === 0 ? 'everybody' : rules.join(', ');
  return (
    <span class={`one-line ${rules.length === 0 ? 'muted' : ''}`} dir="auto" title={text}>
      {text}
    </span>
  );
}

/** A server may listen where no browser goes: only web addresses are links. */
function PublicLink({ url }: { url: string }) {
  const text = url.replace(/^https:\/\//, '');
  if (!/^https?:/.test(url)) return <span dir="auto">{text}</span>;
  return (
    <a dir="auto" href={url} target="_blank" rel="noreferrer" title={url}>
      {text}
    </a>
  );
}
