// SPDX-License-Identifier: Apache-2.0
//
// bitbudget completion: shell scripts generated from the tables of commands, options, experiments,
// keys and pictures. Studies are files, so their names are read while completing.
#include "sim/cli/command.h"
#include "sim/cli/command_help.h"
#include "sim/config/study_file.h"
#include "solvers/kernels/kernel_manager.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 256 };

// Words of every kind, each followed by a blank.
typedef struct vocabulary {
    bb_text commands, experiments, kinds, keys;
} vocabulary;

// Adds keys with a fixed path; paths of list items contain a number.
static bb_status add_keys(const bb_schema *schema, const char *path, bb_text *out)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < schema->key_count; ++i) {
        const bb_key *key = &schema->keys[i];
        char inner[PATH_BYTES];
        char word[PATH_BYTES + 3];
        (void)snprintf(inner, sizeof inner, "%s%s%s", path, path[0] == '\0' ? "" : ".", key->name);
        (void)snprintf(word, sizeof word, " %s= ", inner);
        if (key->kind == BB_KEY_GROUP) {
            BB_TRY(add_keys(key->schema, inner, out));
        } else if (key->kind != BB_KEY_RECORDS && strstr(bb_text_string(out), word) == NULL) {
            BB_TRY(bb_text_add(out, "%s", word + (out->length > 0)));
        }
    }
done:
    return status;
}

// Pictures of the Python package; tests/python compares.
static const char kinds[] =
    "pareto loss-against-bits draws psf spectrum tiles budget night staleness overlay field heat "
    "probes latency roofline kernels machines interferogram wrapped unwrapped phase-error parts "
    "heatmap lines ";

static bb_status collect_words(const bb_experiment_table *experiments, vocabulary *out)
{
    bb_status status = BB_OK;
    const bb_command *commands = NULL;
    const bb_index command_count = bb_command_table(&commands);
    for (bb_index i = 0; i < command_count; ++i) {
        BB_TRY(bb_text_add(&out->commands, "%s ", commands[i].name));
    }
    BB_TRY(bb_text_add(&out->kinds, "%s", kinds));
    for (bb_index i = 0; i < experiments->count; ++i) {
        BB_TRY(bb_text_add(&out->experiments, "%s ", experiments->rows[i]->name));
        BB_TRY(add_keys(experiments->rows[i]->schema, "", &out->keys));
    }
done:
    return status;
}

static void release_words(vocabulary *words)
{
    bb_text_release(&words->commands);
    bb_text_release(&words->experiments);
    bb_text_release(&words->kinds);
    bb_text_release(&words->keys);
}

// Adds the candidates of the first operand of a command.
static bb_status add_first(const bb_command *command, const vocabulary *words, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_kernel_manager *tuned = NULL;
    const int tuned_count = bb_kernel_manager_table(&tuned);
    // Usage lines whose second word is a literal, such as sweep plan.
    for (const char *line = command->usage; line != NULL;) {
        const char *word = line + strcspn(line, " \n");
        const size_t length = *word == ' ' ? strcspn(word + 1, " \n|") : 0;
        if (length > 0 && islower((unsigned char)word[1])) {
            BB_TRY(bb_text_add(out, "%.*s ", (int)length, word + 1));
        }
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    switch (command->kind) {
    case BB_OPERAND_EXPERIMENT:
    case BB_OPERAND_STARTER:
        BB_TRY(bb_text_add(out, "%s", bb_text_string(&words->experiments)));
        break;
    case BB_OPERAND_COMMAND:
        BB_TRY(bb_text_add(out, "%s%s", bb_text_string(&words->commands),
                           bb_text_string(&words->experiments)));
        break;
    case BB_OPERAND_TUNED:
        for (int i = 0; i < tuned_count; ++i) {
            BB_TRY(bb_text_add(out, "%s ", tuned[i].name));
        }
        break;
    case BB_OPERAND_SHELL:
        BB_TRY(bb_text_add(out, "bash "));
        break;
    default:
        break;
    }
done:
    return status;
}

static bool names_studies(const bb_command *command)
{
    return command->kind == BB_OPERAND_CONFIG || command->kind == BB_OPERAND_STARTER;
}

static bb_status add_options(const bb_command *command, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_option *options = NULL;
    const bb_index count = bb_options_table(&options);
    for (bb_index i = 0; i < count; ++i) {
        if (bb_option_is_accepted(&options[i], command->accepted)) {
            BB_TRY(bb_text_add(out, "--%s ", options[i].name));
            if (options[i].letter != 0) {
                BB_TRY(bb_text_add(out, "-%c ", options[i].letter));
            }
        }
    }
done:
    return status;
}

// Adds "--output|-o" for an option, as a pattern of `case`.
static bb_status add_pattern(const bb_option *option, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, "    --%s", option->name));
    if (option->letter != 0) {
        BB_TRY(bb_text_add(out, "|-%c", option->letter));
    }
    BB_TRY(bb_text_add(out, ")"));
done:
    return status;
}

// Words that an option accepts, or NULL; `*files` tells file names from free text.
static const char *words_of(const bb_option *option, const vocabulary *words, bool *files)
{
    *files = option->words != NULL && strcmp(option->words, "file") == 0;
    if (option->words == NULL || *files) {
        return NULL;
    }
    return strcmp(option->words, "kind") == 0 ? bb_text_string(&words->kinds) : option->words;
}

// Adds the cases that set `choices`, `files` (an extension or any) and `studies` from the shell
// variables `word`, `before`, `place` (1: the command) and `command`.
static bb_status add_cases(const vocabulary *words, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_option *options = NULL;
    const bb_command *commands = NULL;
    const bb_index option_count = bb_options_table(&options);
    const bb_index command_count = bb_command_table(&commands);
    BB_TRY(bb_text_add(out, "  case $before in\n"));
    for (bb_index i = 0; i < option_count; ++i) {
        bool files = false;
        const char *values = words_of(&options[i], words, &files);
        if (options[i].value != NULL) {
            BB_TRY(add_pattern(&options[i], out));
            BB_TRY(bb_text_add(out, " choices='%s' files='%s' value=1 ;;\n",
                               values == NULL ? "" : values, files ? "any" : ""));
        }
    }
    BB_TRY(bb_text_add(out, "  esac\n  if [ -z \"$value\" ]; then\n    case $command in\n"));
    for (bb_index i = 0; i < command_count; ++i) {
        const bool results = commands[i].kind == BB_OPERAND_RESULT;
        const bool configs = commands[i].kind == BB_OPERAND_CONFIG;
        const bool kernels =
            commands[i].kind == BB_OPERAND_KERNEL || commands[i].kind == BB_OPERAND_TUNED;
        BB_TRY(bb_text_add(out, "    %s)\n      first='", commands[i].name));
        BB_TRY(add_first(&commands[i], words, out));
        BB_TRY(bb_text_add(out, "' files='%s' studies='%s' keys='%s'\n      flags='",
                           results   ? "h5"
                           : configs ? "yaml"
                           : kernels ? "kernel"
                                     : "",
                           names_studies(&commands[i]) ? "1" : "", configs ? "1" : ""));
        BB_TRY(add_options(&commands[i], out));
        BB_TRY(bb_text_add(out, "' ;;\n"));
    }
    BB_TRY(bb_text_add(
        out,
        "    esac\n"
        "    if [ \"$place\" = 1 ]; then choices='%s--help --version' files='' studies=''\n"
        "    elif [ \"${word#-}\" != \"$word\" ]; then choices=$flags files='' studies=''\n"
        "    elif [ \"$place\" = 2 ]; then choices=$first\n"
        "    else\n"
        "      studies=''\n"
        "      if [ -n \"$keys\" ]; then choices='%s'; fi\n"
        "    fi\n"
        "  fi\n"
        "  if [ -n \"$studies\" ]; then choices=\"$choices $(bitbudget completion studies "
        "2>/dev/null | tr '\\n' ' ')\"; fi\n",
        bb_text_string(&words->commands), bb_text_string(&words->keys)));
done:
    return status;
}

static bb_status write_bash(const vocabulary *words, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out,
                       "# Completion of bitbudget in bash: eval \"$(bitbudget completion bash)\"\n"
                       "_bitbudget() {\n"
                       "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
                       "  local place=$COMP_CWORD command=${COMP_WORDS[1]}\n"
                       "  local choices= files= value= first= studies= keys= flags=\n"));
    BB_TRY(add_cases(words, out));
    BB_TRY(bb_text_add(
        out, "  mapfile -t COMPREPLY < <(compgen -W \"$choices\" -- \"$word\")\n"
             "  case ${COMPREPLY[0]-} in *=) compopt -o nospace 2>/dev/null ;; esac\n"
             "  [ -n \"$files\" ] || return 0\n"
             "  compopt -o filenames 2>/dev/null\n"
             "  local pattern='*'\n"
             "  [ \"$files\" = any ] || pattern=\"*.$files\"\n"
             "  local name\n"
             "  while IFS= read -r name; do\n"
             "    if [ -d \"$name\" ] || [[ $name == $pattern ]]; then COMPREPLY+=(\"$name\"); fi\n"
             "  done < <(compgen -f -- \"$word\")\n"
             "}\n"
             "complete -F _bitbudget bitbudget\n"));
done:
    return status;
}

static bb_status write_studies(bb_text *out)
{
    bb_status status = BB_OK;
    bb_shipped_names known = {0};
    BB_TRY(bb_study_file_list(&known));
    for (bb_index i = 0; i < known.count; ++i) {
        BB_TRY(bb_text_add(out, "%s\n", known.names[i]));
    }
done:
    bb_shipped_names_release(&known);
    return status;
}

bb_status bb_command_completion(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    vocabulary words = {0};
    bb_text text = {0};
    const char *shell = options->operands[0];
    BB_TRY(collect_words(experiments, &words));
    if (strcmp(shell, "studies") == 0) {
        BB_TRY(write_studies(&text));
    } else {
        BB_REQUIRE(strcmp(shell, "bash") == 0, BB_INVALID,
                   "no completion for '%s'; use bash, or studies", shell);
        BB_TRY(write_bash(&words, &text));
    }
    bb_text_print(bb_text_string(&text), stdout);
done:
    bb_text_release(&text);
    release_words(&words);
    return status;
}
