import { storeConformance } from '../../src/store/conformance/store-conformance.ts';
import { emptyLocation, openAt } from './engines.ts';

storeConformance('SQLite', async (t, options) => {
  const location = await emptyLocation(t, 'sqlite');
  const store = await openAt(location, options);
  return {
    store,
    reopen: async () => {
      await store.close();
      return openAt(location, options);
    },
  };
});
