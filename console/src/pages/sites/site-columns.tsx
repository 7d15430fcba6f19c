import { isAllowed } from '../../api/scopes.ts';
import type { Document } from '../../api/use-pages.ts';
import { Chip } from '../../components/chip.tsx';
import type { Column } from '../../components/data-table.tsx';
import { textAt } from '../../format/text.ts';
import { backendText } from '../../modules/backend/backend-text.ts';
import { href } from '../../router/location.ts';
import { documentName } from '../../schema/document-name.ts';
import { entryOf } from './entry-text.ts';
import { backendsOf, HealthChip, healthOf } from './site-health.tsx';
import type { SiteFigures } from './use-site-figures.ts';

export function siteColumns(
  backends: ReadonlyMap<string, Document>,
  figures: SiteFigures,
): readonly Column<Document>[] {
  const isOrdered = isAllowed('series:read');
  return [
    {
      name: 'Host',
      class: 'col-wide',
      order: 'hostports',
      cell: (edge) => (
        <a dir="auto" href={href(`/sites/${textAt(edge, 'id')}`)} title={documentName(edge)}>
          {documentName(edge)}
        </a>
      ),
    },
    { name: 'Goes to', class: 'middle', cell: (edge) => <Targets edge={edge} backends={backends} /> },
    { name: 'Who may enter', class: 'middle', cell: (edge) => <WhoMayEnter edge={edge} /> },
    {
      name: 'Health',
      class: 'col-button',
      cell: (edge) => <HealthChip health={healthOf(edge, backends, figures)} />,
    },
    {
      name: 'Requests',
      class: 'number col-figure',
      ...(isOrdered && { order: 'requests' }),
      cell: (edge) => figureText(figures, textAt(edge, 'id'), 'requests'),
    },
    {
      name: 'Errors',
      class: 'number col-figure low',
      ...(isOrdered && { order: 'errors' }),
      cell: (edge) => figureText(figures, textAt(edge, 'id'), 'errors'),
    },
  ];
}

export function Targets({ edge, backends }: { edge: Document; backends: ReadonlyMap<string, Document> }) {
  const ids = [...new Set(backendsOf(edge).map(({ id }) => id))];
  const texts = ids.map((id) => {
    const backend = backends.get(id);
    return backend === undefined ? '…' : backendText(backend);
  });
  const [first] = texts;
  if (first === undefined) return <span class="muted">nowhere</span>;
  return (
    <span class="line" title={texts.join(', ')}>
      <span class="one-line" dir="auto">
        {first}
      </span>
      {texts.length > 1 && <Chip>{`${texts.length - 1} more`}</Chip>}
    </span>
  );
}

function WhoMayEnter({ edge }: { edge: Document }) {
  const { text, isOpen, differs } = entryOf(edge);
  if (text === '') return <span class="muted">–</span>;
  return (
    <span class="line" title={text}>
      <span class={`one-line ${isOpen ? 'muted' : ''}`} dir="auto">
        {text}
      </span>
      {differs && <Chip>differs by path</Chip>}
    </span>
  );
}

/** `id`: of an edge, or of an endpoint of an agent. */
export function figureText(figures: SiteFigures, id: string, name: 'requests' | 'errors'): string {
  return figures.of(id)?.[name].toLocaleString('en') ?? '–';
}
