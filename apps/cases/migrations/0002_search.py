from django.db import migrations

# Of pg_trgm nothing is asked: not every PostgreSQL brings it, and a Chinese word of two characters has no three.
FUNCTIONS = """
CREATE FUNCTION public.character_pairs(words text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
  SELECT array_agg(DISTINCT lower(substr(words, place, 2))) FROM generate_series(1, length(words) - 1) AS place
$$;
CREATE FUNCTION public.case_pairs(no text, title_en text, title_zh text, applicant_name text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
  SELECT public.character_pairs(no || ' ' || title_en || ' ' || title_zh || ' ' || applicant_name)
$$;
CREATE INDEX case_pairs ON cases_case USING gin (case_pairs(no, title_en, title_zh, applicant_name));
"""
UNDONE = """
DROP INDEX case_pairs;
DROP FUNCTION public.case_pairs(text, text, text, text);
DROP FUNCTION public.character_pairs(text);
"""


class Migration(migrations.Migration):
    dependencies = [("cases", "0001_initial")]
    operations = [migrations.RunSQL(FUNCTIONS, UNDONE)]
