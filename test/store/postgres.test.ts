import { storeConformance } from '../../src/store/conformance/store-conformance.ts';
import { openerOf, usePostgres } from './engines.ts';

usePostgres();
storeConformance('PostgreSQL', openerOf('postgres'));
