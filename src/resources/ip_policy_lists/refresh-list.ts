import Type from 'typebox';
import type { Operation } from '../operation.ts';
import type { ListPorts } from './list-ports.ts';
import { listStateFields, shownState } from './live-list.ts';

/** Reads the source of a list now. */
export const refreshList: Operation<ListPorts> = {
  resource: 'ip_policy_lists',
  verb: 'refresh',
  method: 'POST',
  path: '/ip_policy_lists/{id}/refresh',
  summary: 'Read the source of an IP policy list now',
  description:
    'Reads it on the node that answers. The response shows the state afterwards: an "error" says why the former entries stay in use.',
  body: {
    schema: Type.Object({
      accept_smaller: Type.Optional(
        Type.Boolean({
          default: false,
          description: 'Whether to use a list with less than half of the former entries. Default: false.',
        }),
      ),
    }),
    example: { accept_smaller: true },
  },
  success: { status: 200, schema: Type.Object(listStateFields), description: 'State of the list.' },
  errors: ['ERR_POSTERN_NOT_FOUND'],
  run: async (request, { documents, addressLists }) => {
    const { id } = documents.require('ip_policy_list', request.params['id'] as string);
    await addressLists.refresh(id, request.body['accept_smaller'] === true);
    return { body: shownState(addressLists.state(id)) };
  },
};
