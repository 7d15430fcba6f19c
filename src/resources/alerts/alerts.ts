import Type from 'typebox';
import { ALERT_KIND, alertDoc, alertForm } from '../../alerts/alert-record.ts';
import type { StoredRecord } from '../../store/store.ts';
import { notOnline } from '../errors.ts';
import { liveReads } from '../live-operations.ts';
import { type LiveResource, timestamp } from '../resource.ts';
import type { ReadingPorts, SharedPorts } from '../shared-ports.ts';

export type AlertPorts = ReadingPorts & Pick<SharedPorts, 'ref' | 'uri'>;

const PATH = '/alerts';

const schema = Type.Object({
  id: Type.String({ description: 'Id, starting with "al_".' }),
  uri: Type.String({ description: 'URI of the alert.' }),
  kind: Type.String({ description: 'What kind of thing is wrong.', examples: ['node_lost'] }),
  subject: Type.String({ description: 'What it is about: an id, a name of a node, or an agent.' }),
  title: Type.String({ description: 'What is wrong, in one line.' }),
  node: Type.String({ description: 'Name of the node that raised it.' }),
  raised_at: timestamp('When it was raised.'),
  status: Type.Enum(['raised', 'resolved'], { description: '"resolved" only in the event that reports it.' }),
  resolved_at: Type.Union([timestamp('When it was resolved.'), Type.Null()], {
    description: 'When it was resolved; null while it is raised.',
  }),
});

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
  operations: liveReads<StoredRecord, AlertPorts>({
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
    notFound: (id) => notOnline('raised alert', PATH, id),
  }),
};
