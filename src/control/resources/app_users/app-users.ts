import Type from 'typebox';
import type { LoginUser, Store } from '../../../store/store.ts';
import { notOnline } from '../errors.ts';
import { liveReads } from '../live-operations.ts';
import type { SharedPorts } from '../ports.ts';
import { type LiveResource, timestamp } from '../resource.ts';

export interface AppUserPorts extends Pick<SharedPorts, 'ref' | 'uri'> {
  readonly store: Pick<Store, 'logins'>;
}

const PATH = '/app/users';

const schema = Type.Object({
  id: Type.String({ description: 'Id, starting with "au_".' }),
  uri: Type.String({ description: 'URI of the resource.' }),
  identity_provider: Type.Object(
    {
      name: Type.String({ description: 'Kind of the provider.', examples: ['github'] }),
      url: Type.String({ description: 'Its issuer.', examples: ['https://github.com'] }),
    },
    { description: 'The identity provider of the person.' },
  ),
  provider_user_id: Type.String({
    description: 'Id of the person at the provider: the subject of its tokens.',
    examples: ['248289761001'],
  }),
  username: Type.String({ description: 'User name at the provider, as of the last login.', examples: ['jane'] }),
  email: Type.String({
    description: 'Email address from the provider, as of the last login.',
    examples: ['jane@example.com'],
  }),
  name: Type.String({ description: 'Full name from the provider, as of the last login.', examples: ['Jane Doe'] }),
  created_at: timestamp('When the person first logged in.'),
  last_active: timestamp('When the person was last active.'),
  last_login: timestamp('When the person last logged in.'),
});

const notFound = (id: string): Error => notOnline('login user', PATH, id);

/** People who have logged in. */
export const appUsers: LiveResource<AppUserPorts> = {
  type: 'live',
  name: 'app_users',
  kind: 'app_user',
  idPrefix: 'au',
  path: PATH,
  listKey: 'application_users',
  title: 'a login user',
  description: 'A person who has logged in on a route with a login module.',
  operations: [
    ...liveReads<LoginUser, AppUserPorts>({
      resource: 'app_users',
      idPrefix: 'au',
      path: PATH,
      listKey: 'application_users',
      title: 'a login user',
      plural: 'login users',
      schema,
      list: (query, _request, { store }) => store.logins.listUsers(query),
      get: (id, { store }) => store.logins.getUser(id),
      render: (users, _request, ports) =>
        users.map(({ id, doc }) => ({
          ...ports.ref(id),
          identity_provider: doc['identity_provider'] ?? { name: '', url: '' },
          provider_user_id: doc['provider_user_id'] ?? '',
          username: doc['username'] ?? '',
          email: doc['email'] ?? '',
          name: doc['name'] ?? '',
          created_at: doc['created_at'] ?? '',
          last_active: doc['last_active'] ?? '',
          last_login: doc['last_login'] ?? '',
        })),
      notFound,
    }),
    {
      resource: 'app_users',
      verb: 'delete',
      method: 'DELETE',
      path: `${PATH}/{id}`,
      summary: 'Delete a login user and end all their sessions immediately',
      description: 'If the person logs in again, a new record is created.',
      success: { status: 204, schema: null, description: 'The person and their sessions are deleted.' },
      errors: ['ERR_POSTERN_NOT_FOUND'],
      run: async (request, { store }) => {
        const id = request.params['id'] as string;
        if (!(await store.logins.deleteUser(id))) throw notFound(id);
        return { body: null };
      },
    },
  ],
};
