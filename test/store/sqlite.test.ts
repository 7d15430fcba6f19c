import { storeConformance } from './conformance/store-conformance.ts';
import { openerOf } from './engines.ts';

storeConformance('SQLite', openerOf('sqlite'));
