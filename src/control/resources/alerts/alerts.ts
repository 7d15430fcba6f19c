import Type from 'typebox';
import { rfc3339 } from '../../../kit/clock.ts';
import type { Store, StoredRecord } from '../../../store/store.ts';
import { ALERT_KIND, alertDoc, alertForm, alertPut } from '../../findings/alert-watch.ts';
import { notOnline } from '../errors.ts';
import { liveReads } from '../live-operations.ts';
import type { Operation, OperationResult } from '../operation.ts';
import type { ReadingPorts, SharedPorts } from '../ports.ts';
import { type LiveResource, timestamp } from '../resource.ts';

export interface AlertPorts extends ReadingPorts, Pick<SharedPorts, 'ref' | 'uri' | 'clock'> {
  readonly store: Pick<Store, 'commit'>;
}

const PATH = '/alerts';

const schema = Type.Object({
  id: Type.String({ description: 'Id, starting with "al_".' }),
  uri: Type.String({ description: 'URI of the alert.' }),
  kind: Type.String({ description: 'What kind of thing is wrong.', examples: ['node_lost'] }),
  subject: Type.String({ description: 'What it is about: an id, a name of a node, or an agent.' }),
  title: Type.String({ description: 'What is wrong, in one line.' }),
  advice: Type.String({ description: 'What to do.' }),
  node: Type.String({ description: 'Name of the node that raised it.' }),
  raised_at: timestamp('When it was raised.'),
  status: Type.Enum(['raised', 'dismissed', 'resolved'], {
    description:
      '"dismissed": somebody has dismissed it; it ends with its cause. "resolved" only in the event that reports it.',
  }),
  dismissed_at: Type.Union([timestamp('When somebody dismissed it.'), Type.Null()], {
    description: 'When somebody dismissed it; null: nobody has.',
  }),
  resolved_at: Type.Union([timestamp('When it was resolved.'), Type.Null()], {
    description: 'When it was resolved; null while it is raised.',
  }),
});

const notFound = (id: string): Error => notOnline('raised alert', PATH, id);

const dismiss: Operation<AlertPorts> = {
  resource: 'alerts',
  verb: 'dismiss',
  method: 'POST',
  path: `${PATH}/{id}/dismiss`,
  summary: 'Dismiss an alert',
  description:
    'Takes an alert out of the list of problems: somebody knows of it. It stays in the list of alerts, and ends with its cause. If the cause comes back later, the alert is raised again.',
  success: { status: 200, schema, description: 'The alert.' },
  errors: ['ERR_POSTERN_NOT_FOUND'],
  run: async ({ params }, { documents, store, clock, ref }) => {
    const id = params['id'] as string;
    for (let record = documents.reader.get(ALERT_KIND, id); record !== undefined; ) {
      const alert = alertDoc(record);
      const body = (shown: typeof alert): OperationResult => ({ body: alertForm(ref(id), shown) });
      // Somebody else has dismissed it, maybe in this moment.
      if (alert.dismissed_at != null) return body(alert);
      const dismissed = { ...alert, dismissed_at: rfc3339(clock.nowMs()) };
      const { kind, revision } = record;
      const result = await store.commit({ expect: [{ kind, id, revision }], puts: [alertPut(id, dismissed)] });
      if (result.ok) return body(dismissed);
      const now = documents.reader.get(ALERT_KIND, id);
      record = now?.revision === revision ? undefined : now;
    }
    // The alert has ended, maybe meanwhile.
    throw notFound(id);
  },
};

/** Alerts that are raised now. Answered from memory. */
export const alerts: LiveResource<AlertPorts> = {
  type: 'live',
  name: 'alerts',
  kind: ALERT_KIND,
  idPrefix: 'al',
  path: PATH,
  listKey: 'alerts',
  title: 'an alert',
  description:
    'Something that is wrong now: an agent that is away, a failing backend, a certificate, a stuck delivery, a full disk, a lost node.',
  operations: [
    ...liveReads<StoredRecord, AlertPorts>({
      resource: 'alerts',
      idPrefix: 'al',
      path: PATH,
      listKey: 'alerts',
      title: 'an alert',
      plural: 'raised alerts',
      schema,
      list: async (query, _request, { documents }) => documents.reader.page(ALERT_KIND, query),
      get: async (id, { documents }) => documents.reader.get(ALERT_KIND, id) ?? null,
      render: (records, _request, { ref }) => records.map((record) => alertForm(ref(record.id), alertDoc(record))),
      notFound,
    }),
    dismiss,
  ],
};
