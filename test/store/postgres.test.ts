import { storeConformance } from '../../src/store/conformance/store-conformance.ts';
import { emptyLocation, openAt, usePostgres } from './engines.ts';

usePostgres();
storeConformance('PostgreSQL', async (t, options) => {
  const location = await emptyLocation(t, 'postgres');
  const store = await openAt(location, options);
  return {
    store,
    reopen: async () => {
      await store.close();
      return openAt(location, options);
    },
  };
});
