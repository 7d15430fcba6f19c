import { request } from '../../api/request.ts';
import { areAllowed } from '../../api/scopes.ts';
import type { Document } from '../../api/use-pages.ts';
import { Chip, type Tone } from '../../components/chip.tsx';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import type { Column } from '../../components/data-table.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { RefLink } from '../../components/ref-link.tsx';
import { nameColumn } from '../../components/resource-list.tsx';
import { type ListTab, TabbedLists } from '../../components/tabbed-lists.tsx';
import { Time } from '../../components/time.tsx';
import { textAt } from '../../format/text.ts';
import { href } from '../../router/location.ts';
import { eventTypes, targetText } from '../../schema/document-name.ts';
import type { Reference } from '../../schema/load-by-ids.ts';
import { itemPath } from '../../schema/paths.ts';
import { type ResourceType, resourceType } from '../../schema/resource-types.ts';

const TABS: readonly ListTab[] = [
  {
    tag: 'event_subscriptions',
    name: 'Subscriptions',
    purpose: (
      <>
        A subscription sends chosen events to destinations. Create a{' '}
        <a href={href('/events?tab=event_destinations')}>destination</a> first, such as a webhook.
      </>
    ),
    columns: (type) => [
      nameColumn(type),
      { name: 'Event types', cell: (row) => eventTypes(row) },
      {
        name: 'Destinations',
        class: 'middle',
        cell: (row) => String((row['destinations'] as unknown[] | undefined)?.length ?? 0),
      },
    ],
  },
  {
    tag: 'event_destinations',
    name: 'Destinations',
    purpose: 'A destination is a webhook or a file that receives events.',
    columns: (type) => [
      nameColumn(type),
      {
        name: 'Target',
        cell: (row) => (
          <span class="one-line" dir="auto">
            {targetText(row)}
          </span>
        ),
      },
      {
        name: 'State',
        class: 'middle col-narrow',
        cell: (row) => <StateChip state={textAt(row, 'status')} />,
      },
    ],
  },
  {
    tag: 'event_deliveries',
    name: 'Deliveries',
    purpose: 'Every event that a subscription wants becomes a delivery. Destinations can send a test event.',
    columns: (type) => deliveryColumns(type),
    extraColumns: (type, reload) => replayColumn(type, reload),
  },
];

export function EventsPage() {
  return (
    <>
      <PageHead title="Events" hint="What the server reports to other systems, and whether it arrived.">
        <ReplayDead />
      </PageHead>
      <TabbedLists label="Subscriptions, destinations and deliveries" tabs={TABS} />
    </>
  );
}

function deliveryColumns(type: ResourceType): readonly Column<Document>[] {
  return [
    {
      name: 'Event',
      class: 'col-wide',
      cell: (row) => (
        <a href={href(`/resources/${type.tag}/item?path=${encodeURIComponent(itemPath(type, row) ?? '')}`)}>
          {String((row['event'] as Document | undefined)?.['event_type'] ?? row['id'])}
        </a>
      ),
    },
    { name: 'State', class: 'col-narrow', cell: (row) => <StateChip state={textAt(row, 'state')} /> },
    { name: 'Destination', class: 'low', cell: (row) => <RefLink reference={row['destination'] as Reference} /> },
    {
      name: 'Attempts',
      class: 'middle col-narrow',
      cell: (row) => String((row['attempts'] as unknown[] | undefined)?.length ?? 0),
    },
    { name: 'Last answer', class: 'middle', cell: (row) => lastAnswer(row) },
    { name: 'Queued', class: 'middle col-time', cell: (row) => <Time at={row['created_at']} /> },
  ];
}

/** Of the last attempt: the status of the receiver, or why it got nothing. */
function lastAnswer(row: Document): string {
  const last = (row['attempts'] as readonly Document[] | undefined)?.at(-1);
  return last === undefined ? '–' : textAt(last, 'error') || textAt(last, 'status') || '–';
}

const STATE_TONES: Readonly<Record<string, Tone>> = {
  active: 'ok',
  delivered: 'ok',
  pending: 'warn',
  suspended: 'danger',
  dead: 'danger',
};

function StateChip({ state }: { state: string }) {
  return <Chip tone={STATE_TONES[state] ?? 'plain'}>{state}</Chip>;
}

function replayColumn(type: ResourceType, reload: () => void): readonly Column<Document>[] {
  const replay = type.actions.find(({ path }) => path.endsWith('/replay'));
  if (replay === undefined || !areAllowed(replay.scopes)) return [];
  return [
    {
      name: 'Action',
      class: 'col-button',
      cell: (row) => (
        <ConfirmButton
          name="Replay"
          label={`Replay ${textAt(row, 'id')}`}
          isSmall
          isDanger={false}
          question="Replay this delivery?"
          done="The delivery is queued again."
          act={() => request('POST', `${itemPath(type, row)}/replay`)}
          onDone={reload}
        >
          <p>The destination receives the same event again, with the same id.</p>
        </ConfirmButton>
      ),
    },
  ];
}

function ReplayDead() {
  const replay = resourceType('event_deliveries')?.actions.find(({ path }) => path.endsWith('/replay'));
  if (replay === undefined || !areAllowed(replay.scopes)) return null;
  return (
    <ConfirmButton
      name="Replay dead deliveries"
      isDanger={false}
      question="Replay all dead deliveries?"
      done="The dead deliveries are queued again."
      act={() => request('POST', '/event_deliveries/replay', { body: { state: 'dead' } })}
    >
      <p>Every delivery that was given up is sent again. Destinations may receive an event twice.</p>
    </ConfirmButton>
  );
}
