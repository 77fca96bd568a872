import { contract } from './contract.js';
import { MemoryPlace } from './place.js';

contract('in memory', () => new MemoryPlace());
